"""Kinds of special categories of personal data in every language with word lists:
medicines by name, fasting and mass, membership of parties, sex life, descent and
minorities, biometrics; and ordinary sentences that only look like one.
"""

import pytest

from reverie.privacy import sensitivity

STATED = {
    "medicines": [
        "She has been on Jardiance since March.",
        "Me han cambiado el Eutirox por otro.",
        "Ich nehme morgens Ramipril.",
        "Il prend du Xarelto depuis mai.",
        "Mio zio prende il Coumadin da anni.",
        "A minha avó toma sinvastatina e Xarelto.",
        "Mijn oom slikt bisoprolol.",
        "Babcia bierze bisoprolol od lat.",
        "El meu oncle pren Sintrom.",
        "Osabak Sintroma hartzen du.",
        "O meu tío toma Sintrom.",
        "Дядя пьёт лизиноприл.",
        "我爸每天吃二甲双胍。",
    ],
    "organs": [
        "He had his tonsils removed in April.",
        "Le quitaron la vesícula en abril.",
        "Ihr wurde die Milz entfernt.",
        "On lui a retiré la vésicule.",
        "Mamie a une opération de la hanche en mai.",
        "L'operazione al ginocchio di mia madre è a maggio.",
        "A operação ao joelho da minha mãe é em maio.",
        "L'operació de genoll de la mare és al maig.",
        "Amaren belauneko operazioa maiatzean da.",
        "A operación de xeonllo da nai é en maio.",
    ],
    "faith": [
        "They fast from dawn and eat after sundown.",
        "Ayunan hasta la puesta de sol.",
        "Ayşe fastet bis zum Abend.",
        "Elle jeûne jusqu'au coucher du soleil.",
        "Digiuna fino al tramonto.",
        "Jejua até ao pôr do sol.",
        "Zij vasten tot zonsondergang.",
        "Pości aż do zachodu słońca.",
        "Dejunen fins a la posta de sol i dejuna també la filla.",
        "Garizuman ez du haragirik jaten.",
        "Na coresma non come carne.",
        "Он постится до Пасхи.",
        "她这个月在封斋。",
    ],
    "parties": [
        "Her ballot paper lists her as a candidate for the Lib Dems.",
        "Tiene el carnet de Vox en la cartera.",
        "Sie steht auf der Liste der Freien Wähler für den Gemeinderat.",
        "Il a sa carte au PCF depuis dix ans.",
        "Ha la tessera di Forza Italia.",
        "Tem o cartão do PCP desde novo.",
        "Zij staat voor de ChristenUnie op de kieslijst.",
        "Ma legitymację PSL.",
        "Té el carnet de Junts.",
        "Aita EAJko kidea da.",
        "Ten carné do BNG.",
        "Тётя вступила в КПРФ.",
        "他爷爷是老党员。",
    ],
    "sex life": [
        "My wife and I have not been making love since spring.",
        "Ya no hacemos el amor.",
        "Sie hat mit jemandem geschlafen, den sie kaum kennt.",
        "Nous ne faisons plus l'amour.",
        "Non facciamo l'amore da mesi.",
        "Já não fazemos amor há meses.",
        "Wij slapen niet meer met elkaar, maar eens hebben wij met elkaar geslapen.",
        "Ona bierze tabletki antykoncepcyjne.",
        "Fa mesos que no fem l'amor.",
        "Aspaldi ez dugu maitasuna egin.",
        "Hai meses que non facemos o amor.",
        "Мы давно не занимались любовью.",
        "他们已经好久没同房了。",
    ],
    "descent": [
        "His grandmother was Sámi.",
        "Mi bisabuela era saharaui.",
        "Ihre Urgroßmutter war Kaschubin.",
        "Son grand-père était kabyle.",
        "La nonna era arbëreshë e parlava poco.",
        "O bisavô era de origem berbere.",
        "Haar oma was Koerdisch.",
        "Moja babcia była Łemkinią, dziadek Kaszubem.",
        "L'àvia era xueta.",
        "Haren amona kurdua zen.",
        "A avoa era xitana.",
        "Мой прадед из поволжских немцев.",
        "我妈妈是畲族，她是少数民族。",
    ],
    "biometrics": [
        "At the depot the time clock wants my index finger on the sensor.",
        "El torno del almacén lee la palma de mi primo.",
        "Das Lesegerät am Tor will meine Handfläche.",
        "La pointeuse lit la paume de mon cousin.",
        "La timbratrice legge il pollice di mio cugino.",
        "A catraca lê o polegar do meu primo.",
        "De prikklok leest de duim van mijn neef.",
        "Czytnik przy bramce bierze mój kciuk.",
        "El torn llegeix el polze del meu cosí.",
        "Sarrailak lehengusuaren erpurua irakurtzen du.",
        "A pechadura le o polgar do meu curmán.",
        "Турникет пускает его по ладони.",
        "公司食堂刷掌付钱。",
    ],
}
ORDINARY = [
    # An operation that is no surgery.
    "The operation to move the piano took all morning.",
    "La operación de venta se firma el lunes.",
    "Die Operation Umzug ist geschafft.",
    "L'opération de rachat sera signée lundi.",
    "L'operazione di vendita si firma lunedì.",
    "A operação de venda assina-se na segunda.",
    "L'operació de venda es signa dilluns.",
    "Salmentako operazioa astelehenean sinatuko da.",
    "A operación de compra asínase o luns.",
    # Doctors of something.
    "He is a doctor of philosophy.",
    "Es doctora en historia.",
    "Elle est docteure en physique.",
    "È dottoressa in lettere.",
    "É doutora em física.",
    "És doctora en història.",
    "É doutora en química.",
    "她是哲学博士。",
    # Fingerprints of things.
    "The package fingerprint does not match.",
    "La huella del paquete no coincide.",
    "Der Fingerabdruck der Webseite stimmt nicht.",
    "L'empreinte du paquet ne correspond pas.",
    "L'impronta del sito non corrisponde.",
    "A impressão digital do pacote não bate.",
    "De vingerafdruk van de website klopt niet.",
    "Odcisk palca pliku się nie zgadza.",
    "L'empremta digital del fitxer no coincideix.",
    "Webgunearen hatz-marka ez dator bat.",
    "A pegada do ficheiro non coincide.",
    "Отпечаток файла не совпадает.",
    "请核对镜像的指纹。",
    # Words that are something else: parties, parishes, the young, posts, the town hall.
    "She left the party early.",
    "Une partie de cartes commence.",
    "A freguesia arranjou a rua.",
    "Il est trop jeune pour conduire ce mois.",
    "Napisałem post w piątek.",
    "Я написал пост в пятницу.",
    "El ayuntamiento restauró la iglesia.",
    "Het is een vast bedrag per maand.",
    "Razem zrobiliśmy listę zakupów.",
    "Купи яблоки по списку.",
    "My grandmother bakes a Basque cheesecake.",
    "Her face lit up when the door opened.",
    "Le Bénin a gagné deux à zéro.",
]


def is_critical(text: str) -> bool:
    return sensitivity.of_text(text) is sensitivity.Level.CRITICAL


@pytest.mark.parametrize("kind", STATED)
def test_a_kind_is_told_in_every_language(kind: str) -> None:
    assert [text for text in STATED[kind] if not is_critical(text)] == []


@pytest.mark.parametrize("text", ORDINARY)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert not is_critical(text)
